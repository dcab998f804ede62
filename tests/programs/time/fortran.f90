! Computation between Fortran's own input and output, whose library writes when its buffer is full or a unit is closed.
!
!   fortran      works in the current folder
program fortran
    use, intrinsic :: iso_c_binding, only: c_int, c_long
    use, intrinsic :: iso_fortran_env, only: int64, real64
    implicit none

    type, bind(c) :: timespec
        integer(c_long) :: seconds, nanoseconds
    end type

    interface
        integer(c_int) function clock_gettime(clock, time) bind(c)
            import :: c_int, timespec
            integer(c_int), value :: clock
            type(timespec), intent(out) :: time
        end function
        integer(c_int) function c_getpid() bind(c, name="getpid")
            import :: c_int
        end function
        integer(c_int) function usleep(microseconds) bind(c)
            import :: c_int
            integer(c_int), value :: microseconds
        end function
    end interface

    integer(c_int), parameter :: monotonic = 1, of_process = 2, of_thread = 3
    integer(int64) :: began, known = 0, waited = 0, entered
    real(real64) :: x = 2
    integer :: unit, i

    began = clock(monotonic)
    open (newunit=unit, file="fortran.dat", form="unformatted", status="replace")
    do i = 1, 6
        call compute(10000000_int64)
        write (unit) [(x, entered=1, 4096)]
    end do
    close (unit)
    open (newunit=unit, file="fortran.txt", status="replace")
    do i = 1, 6
        call compute(5000000_int64)
        write (unit, *) "round", i
        flush (unit)
        entered = clock(monotonic)
        if (usleep(10000_c_int) /= 0) error stop "usleep failed"
        waited = waited + 10000000
    end do
    close (unit)
    print "(a,i0,a,i0,a,i0,a,i0,a,i0,a,i0)", "pid=", c_getpid(), " tid=", c_getpid(), " cpu_ns=", clock(of_thread), &
        " wall_ns=", clock(monotonic) - began, " work_ns=", known, " inside_ns=0 wait_ns=", waited
    print "(a,i0,a,i0)", "pid=", c_getpid(), " cpu_user_sys_ns=", clock(of_process)

contains

    ! Nanoseconds of this clock.
    integer(int64) function clock(which)
        integer(c_int), intent(in) :: which
        type(timespec) :: now
        if (clock_gettime(which, now) /= 0) error stop "no such clock"
        clock = now%seconds * 1000000000_int64 + now%nanoseconds
    end function

    ! Until this thread has used so many nanoseconds of its processor.
    subroutine compute(ns)
        integer(int64), intent(in) :: ns
        integer(int64) :: from, used
        integer :: step
        from = clock(of_thread)
        used = 0
        do while (used < ns)
            do step = 1, 2000
                x = x * 0.999999_real64 + 0.000001_real64
            end do
            used = clock(of_thread) - from
        end do
        known = known + used
    end subroutine
end program
