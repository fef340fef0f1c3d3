; Sleeping where there is no futex: a pthread mutex (at +256) and condition variable (at +384), initialised by team.py.
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define internal void @park(ptr %team, ptr %epoch, i32 %old) {
entry:
  %sleepers = getelementptr i8, ptr %team, i64 128
  %mutex = getelementptr i8, ptr %team, i64 256
  %condition = getelementptr i8, ptr %team, i64 384
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %in = atomicrmw add ptr %sleepers, i32 1 seq_cst
  br label %check
check:
  %now = load atomic i32, ptr %epoch seq_cst, align 4
  %changed = icmp ne i32 %now, %old
  br i1 %changed, label %done, label %sleep
sleep:
  %status = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %check
done:
  %out = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}

define internal void @unpark(ptr %team, ptr %epoch) {
  %mutex = getelementptr i8, ptr %team, i64 256
  %condition = getelementptr i8, ptr %team, i64 384
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %status = call i32 @pthread_cond_broadcast(ptr %condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}
