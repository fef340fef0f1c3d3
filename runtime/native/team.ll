; The worker team: threads that run a table of kernel launches with a barrier between launches, no Python in between.
; team.py adds the parts that differ by platform: @relax (processor hint in a spin loop), @park / @unpark (sleep until the
; epoch changes, wake the sleepers), @pin (thread affinity) and @clock (nanoseconds).
;
; The team's memory (512 bytes, aligned to 64): words that threads contend on have a cache line each.
;     +0 arrived: i32     +64 epoch: i32     +128 sleepers: i32
;   +192 table: ptr      +200 count: i64     +208 threads: i64   +216 spin: i64
;   +224 scratch: ptr    +232 stride: i64    +240 times: ptr     +256.. private to @park / @unpark
; A launch is {ptr fn, ptr bufs, ptr syms, i64 flags}; flags: 1 = no barrier after, 2 = thread 0 alone runs it.

%Launch = type { ptr, ptr, ptr, i64 }

declare i32 @pthread_create(ptr, ptr, ptr, ptr)

; Spins until the epoch differs from %old, then sleeps.
define internal void @await(ptr %team, ptr %epoch, i32 %old) {
entry:
  %spin.at = getelementptr i8, ptr %team, i64 216
  %spin = load i64, ptr %spin.at
  br label %poll
poll:
  %i = phi i64 [ 0, %entry ], [ %next, %pause ]
  %now = load atomic i32, ptr %epoch acquire, align 4
  %changed = icmp ne i32 %now, %old
  br i1 %changed, label %done, label %check
check:
  %more = icmp ult i64 %i, %spin
  br i1 %more, label %pause, label %sleep
pause:
  call void @relax()
  %next = add i64 %i, 1
  br label %poll
sleep:
  call void @park(ptr %team, ptr %epoch, i32 %old)
  br label %done
done:
  ret void
}

define internal void @barrier(ptr %team) {
entry:
  %threads.at = getelementptr i8, ptr %team, i64 208
  %threads = load i64, ptr %threads.at
  %alone = icmp eq i64 %threads, 1
  br i1 %alone, label %done, label %arrive
arrive:
  %epoch = getelementptr i8, ptr %team, i64 64
  %old = load atomic i32, ptr %epoch seq_cst, align 4
  %before = atomicrmw add ptr %team, i32 1 acq_rel
  %count = trunc i64 %threads to i32
  %others = sub i32 %count, 1
  %last = icmp eq i32 %before, %others
  br i1 %last, label %release, label %wait
release:
  store atomic i32 0, ptr %team monotonic, align 4
  %unused = atomicrmw add ptr %epoch, i32 1 seq_cst
  %sleepers.at = getelementptr i8, ptr %team, i64 128
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %any = icmp ne i32 %sleepers, 0
  br i1 %any, label %wake, label %done
wake:
  call void @unpark(ptr %team, ptr %epoch)
  br label %done
wait:
  call void @await(ptr %team, ptr %epoch, i32 %old)
  br label %done
done:
  ret void
}

define internal void @run_table(ptr %team, i64 %tid) {
entry:
  %table.at = getelementptr i8, ptr %team, i64 192
  %table = load ptr, ptr %table.at
  %count.at = getelementptr i8, ptr %team, i64 200
  %count = load i64, ptr %count.at
  %threads.at = getelementptr i8, ptr %team, i64 208
  %threads = load i64, ptr %threads.at
  %scratch.at = getelementptr i8, ptr %team, i64 224
  %scratch.base = load ptr, ptr %scratch.at
  %stride.at = getelementptr i8, ptr %team, i64 232
  %stride = load i64, ptr %stride.at
  %times.at = getelementptr i8, ptr %team, i64 240
  %times = load ptr, ptr %times.at
  %offset = mul i64 %tid, %stride
  %scratch = getelementptr i8, ptr %scratch.base, i64 %offset
  %leader = icmp eq i64 %tid, 0
  %timed = icmp ne ptr %times, null
  %stamps = and i1 %leader, %timed
  %final = sub i64 %count, 1
  %empty = icmp sle i64 %count, 0
  br i1 %empty, label %done, label %launch
launch:
  %i = phi i64 [ 0, %entry ], [ %next, %advance ]
  %fn.at = getelementptr %Launch, ptr %table, i64 %i, i32 0
  %fn = load ptr, ptr %fn.at
  %bufs.at = getelementptr %Launch, ptr %table, i64 %i, i32 1
  %bufs = load ptr, ptr %bufs.at
  %syms.at = getelementptr %Launch, ptr %table, i64 %i, i32 2
  %syms = load ptr, ptr %syms.at
  %flags.at = getelementptr %Launch, ptr %table, i64 %i, i32 3
  %flags = load i64, ptr %flags.at
  %serial.bit = and i64 %flags, 2
  %serial = icmp ne i64 %serial.bit, 0
  %follower = xor i1 %leader, true
  %skip = and i1 %serial, %follower
  br i1 %skip, label %sync, label %call
call:
  %shares = select i1 %serial, i64 1, i64 %threads
  call void %fn(ptr %bufs, ptr %syms, i64 %tid, i64 %shares, ptr %scratch)
  br label %sync
sync:
  %free.bit = and i64 %flags, 1
  %free = icmp ne i64 %free.bit, 0
  %ends = icmp eq i64 %i, %final
  %pass = or i1 %free, %ends
  br i1 %pass, label %stamp, label %meet
meet:
  call void @barrier(ptr %team)
  br label %stamp
stamp:
  br i1 %stamps, label %record, label %advance
record:
  %time = call i64 @clock()
  %time.at = getelementptr i64, ptr %times, i64 %i
  store i64 %time, ptr %time.at
  br label %advance
advance:
  %next = add i64 %i, 1
  br i1 %ends, label %done, label %launch
done:
  ret void
}

; A worker: meets the caller, runs the table, meets it again; a null table ends it.
define internal ptr @worker(ptr %slot) {
entry:
  %team = load ptr, ptr %slot
  %tid.at = getelementptr i8, ptr %slot, i64 8
  %tid = load i64, ptr %tid.at
  %cpu.at = getelementptr i8, ptr %slot, i64 24
  %cpu = load i64, ptr %cpu.at
  call void @pin(i64 %cpu)
  %table.at = getelementptr i8, ptr %team, i64 192
  br label %wait
wait:
  call void @barrier(ptr %team)
  %table = load ptr, ptr %table.at
  %leave = icmp eq ptr %table, null
  br i1 %leave, label %out, label %run
run:
  call void @run_table(ptr %team, i64 %tid)
  call void @barrier(ptr %team)
  br label %wait
out:
  ret ptr null
}

; Starts a worker; slot = {ptr team, i64 tid, pthread_t handle, i64 cpu or -1}.
define i32 @luminal_team_start(ptr %slot) {
  %handle = getelementptr i8, ptr %slot, i64 16
  %status = call i32 @pthread_create(ptr %handle, ptr null, ptr @worker, ptr %slot)
  ret i32 %status
}

; Runs a table on all threads, the caller being thread 0. A null table ends the workers.
define void @luminal_team_run(ptr %team, ptr %table, i64 %count, ptr %scratch, i64 %stride, ptr %times) {
entry:
  %table.at = getelementptr i8, ptr %team, i64 192
  store ptr %table, ptr %table.at
  %count.at = getelementptr i8, ptr %team, i64 200
  store i64 %count, ptr %count.at
  %scratch.at = getelementptr i8, ptr %team, i64 224
  store ptr %scratch, ptr %scratch.at
  %stride.at = getelementptr i8, ptr %team, i64 232
  store i64 %stride, ptr %stride.at
  %times.at = getelementptr i8, ptr %team, i64 240
  store ptr %times, ptr %times.at
  call void @barrier(ptr %team)
  %leave = icmp eq ptr %table, null
  br i1 %leave, label %out, label %run
run:
  call void @run_table(ptr %team, i64 0)
  call void @barrier(ptr %team)
  br label %out
out:
  ret void
}
