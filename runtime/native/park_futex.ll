; Sleeping on Linux: the kernel's futex on the epoch word (FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129).
declare i64 @syscall(i64, ...)

define internal void @park(ptr %team, ptr %epoch, i32 %old) {
entry:
  %sleepers = getelementptr i8, ptr %team, i64 128
  %in = atomicrmw add ptr %sleepers, i32 1 seq_cst
  br label %check
check:
  %now = load atomic i32, ptr %epoch seq_cst, align 4
  %changed = icmp ne i32 %now, %old
  br i1 %changed, label %done, label %sleep
sleep:
  %status = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %epoch, i32 128, i32 %old, ptr null, ptr null, i32 0)
  br label %check
done:
  %out = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  ret void
}

define internal void @unpark(ptr %team, ptr %epoch) {
  %status = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %epoch, i32 129, i32 2147483647, ptr null, ptr null, i32 0)
  ret void
}
