! mpi_surface_f: the main MPI calls from Fortran 90 (`use mpi`), with the constants that are addresses there.
!
! Verifies every result: contents, sources, tags, counts, and that Waitany and Waitsome count from 1. Runs with any
! number of ranks; with one rank messages go from the rank to itself.
!
!   mpirun -np N mpi_surface_f
program mpi_surface_f
  use mpi
  implicit none
  integer, parameter :: count = 12, pairs = 3
  integer :: rank, ranks, left, right, provided, ierror

  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
  call check(ierror == MPI_SUCCESS .and. provided >= MPI_THREAD_FUNNELED, 'MPI_Init_thread')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)

  call messages()
  call completions()
  call persistent()
  call collectives()
  call absolute_addresses()
  call communicators()

  if (rank == 0) print '(a)', 'mpi_surface_f: passed'
  call MPI_Finalize(ierror)

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    write (0, '(a,i0,2a)') 'mpi_surface_f.f90: rank ', rank, ': wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine check

  ! What `sender` sends with `tag`.
  function content(sender, tag) result(values)
    integer, intent(in) :: sender, tag
    integer :: values(count), i
    values = [(sender*1000 + tag*100 + i, i=1, count)]
  end function content

  subroutine check_status(status, source, tag, what)
    integer, intent(in) :: status(MPI_STATUS_SIZE), source, tag
    character(*), intent(in) :: what
    integer :: received
    call MPI_Get_count(status, MPI_INTEGER, received, ierror)
    call check(status(MPI_SOURCE) == source .and. status(MPI_TAG) == tag .and. received == count, what)
  end subroutine check_status

  subroutine messages()
    integer :: out(count), in(count), status(MPI_STATUS_SIZE), request, sender
    logical :: flag
    if (rank == 0) then
      do sender = 1, ranks - 1
        call MPI_Recv(in, count, MPI_INTEGER, sender, 1, MPI_COMM_WORLD, status, ierror)
        call check_status(status, sender, 1, 'MPI_Recv, status')
        call check(all(in == content(sender, 1)), 'MPI_Recv, content')
      end do
      do sender = 1, ranks - 1
        call MPI_Recv(in, count, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
        call check(all(in == content(in(1)/1000, 2)), 'MPI_Recv from any source')
      end do
    else
      out = content(rank, 1)
      call MPI_Send(out, count, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierror)
      out = content(rank, 2)
      call MPI_Ssend(out, count, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, ierror)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierror)

    out = content(rank, 3)
    call MPI_Sendrecv(out, count, MPI_INTEGER, right, 3, in, count, MPI_INTEGER, left, 3, MPI_COMM_WORLD, &
                      status, ierror)
    call check_status(status, left, 3, 'MPI_Sendrecv, status')
    call check(all(in == content(left, 3)), 'MPI_Sendrecv, content')
    call MPI_Sendrecv_replace(out, count, MPI_INTEGER, right, 4, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call check(all(out == content(left, 3)), 'MPI_Sendrecv_replace')

    in = -1
    call MPI_Recv(in, count, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_WORLD, status, ierror)
    call check(status(MPI_SOURCE) == MPI_PROC_NULL .and. all(in == -1), 'MPI_Recv from MPI_PROC_NULL')

    out = content(rank, 6)
    call MPI_Isend(out, count, MPI_INTEGER, right, 6, MPI_COMM_WORLD, request, ierror)
    call MPI_Probe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, status, ierror)
    call check_status(status, left, 6, 'MPI_Probe')
    call MPI_Iprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierror)
    call check(flag, 'MPI_Iprobe after MPI_Probe')
    call MPI_Recv(in, count, MPI_INTEGER, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call check(all(in == content(left, 6)), 'MPI_Recv after MPI_Probe')
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call check(request == MPI_REQUEST_NULL, 'MPI_Wait of a send')
  end subroutine messages

  ! Starts `pairs` receives from the left, then as many sends to the right.
  subroutine start_requests(out, in, requests)
    integer, intent(inout), asynchronous :: out(count, pairs), in(count, pairs)
    integer, intent(out) :: requests(2*pairs)
    integer :: tag
    in = -1
    do tag = 1, pairs
      out(:, tag) = content(rank, tag)
      call MPI_Irecv(in(1, tag), count, MPI_INTEGER, left, tag, MPI_COMM_WORLD, requests(tag), ierror)
    end do
    do tag = 1, pairs
      call MPI_Isend(out(1, tag), count, MPI_INTEGER, right, tag, MPI_COMM_WORLD, requests(pairs + tag), ierror)
    end do
  end subroutine start_requests

  subroutine check_received(in, tag, what)
    integer, intent(in) :: in(count, pairs), tag
    character(*), intent(in) :: what
    if (tag <= pairs) call check(all(in(:, tag) == content(left, tag)), what)
  end subroutine check_received

  subroutine completions()
    integer, asynchronous :: out(count, pairs), in(count, pairs)
    integer :: requests(2*pairs), statuses(MPI_STATUS_SIZE, 2*pairs), status(MPI_STATUS_SIZE)
    integer :: indices(2*pairs), done, index, outcount, i
    logical :: seen(2*pairs), flag

    call start_requests(out, in, requests)
    call MPI_Waitall(2*pairs, requests, statuses, ierror)
    do i = 1, pairs
      call check_status(statuses(:, i), left, i, 'MPI_Waitall, status')
      call check_received(in, i, 'MPI_Waitall, content')
    end do
    call check(all(requests == MPI_REQUEST_NULL), 'MPI_Waitall, requests')
    call start_requests(out, in, requests)
    call MPI_Waitall(2*pairs, requests, MPI_STATUSES_IGNORE, ierror)
    do i = 1, pairs
      call check_received(in, i, 'MPI_Waitall with MPI_STATUSES_IGNORE')
    end do

    call start_requests(out, in, requests)
    seen = .false.
    do done = 1, 2*pairs
      call MPI_Waitany(2*pairs, requests, index, status, ierror)
      call check(index >= 1 .and. index <= 2*pairs, 'MPI_Waitany, an index from 1')
      call check(.not. seen(index), 'MPI_Waitany, an index twice')
      seen(index) = .true.
      call check_received(in, index, 'MPI_Waitany, content')
      if (index <= pairs) call check_status(status, left, index, 'MPI_Waitany, status')
    end do
    call MPI_Waitany(2*pairs, requests, index, MPI_STATUS_IGNORE, ierror)
    call check(index == MPI_UNDEFINED, 'MPI_Waitany without requests')

    call start_requests(out, in, requests)
    seen = .false.
    done = 0
    do while (done < 2*pairs)
      call MPI_Waitsome(2*pairs, requests, outcount, indices, MPI_STATUSES_IGNORE, ierror)
      do i = 1, outcount
        call check(indices(i) >= 1 .and. indices(i) <= 2*pairs, 'MPI_Waitsome, an index from 1')
        call check(.not. seen(indices(i)), 'MPI_Waitsome, an index twice')
        seen(indices(i)) = .true.
        call check_received(in, indices(i), 'MPI_Waitsome, content')
      end do
      done = done + outcount
    end do

    call start_requests(out, in, requests)
    do i = 1, 2*pairs
      flag = .false.
      do while (.not. flag)
        call MPI_Test(requests(i), flag, status, ierror)
      end do
      call check_received(in, i, 'MPI_Test')
    end do
    call start_requests(out, in, requests)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2*pairs, requests, flag, statuses, ierror)
    end do
    do i = 1, pairs
      call check_received(in, i, 'MPI_Testall')
    end do
  end subroutine completions

  subroutine persistent()
    integer, asynchronous :: out(count), in(count)
    integer :: requests(2), round
    call MPI_Recv_init(in, count, MPI_INTEGER, left, 9, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Send_init(out, count, MPI_INTEGER, right, 9, MPI_COMM_WORLD, requests(2), ierror)
    do round = 1, 3
      out = content(rank, round)
      if (round == 1) then
        call MPI_Start(requests(1), ierror)
        call MPI_Start(requests(2), ierror)
      else
        call MPI_Startall(2, requests, ierror)
      end if
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
      call check(all(in == content(left, round)), 'a persistent message')
    end do
    call MPI_Request_free(requests(1), ierror)
    call MPI_Request_free(requests(2), ierror)
  end subroutine persistent

  subroutine collectives()
    integer :: mine(2), everything(2*ranks), counts(ranks), places(ranks), parts(ranks*(ranks + 1)/2), own(ranks)
    integer :: total, r, i
    mine = [rank, -rank]
    call MPI_Gather(mine, 2, MPI_INTEGER, everything, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0) call check(all(everything == [(r, -r, r=0, ranks - 1)]), 'MPI_Gather')
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, 2, MPI_INTEGER, everything, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call check(all(everything == [(r, -r, r=0, ranks - 1)]), 'MPI_Gather in place')
    else
      call MPI_Gather(mine, 2, MPI_INTEGER, everything, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    end if
    call MPI_Bcast(everything, 2*ranks, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call check(all(everything == [(r, -r, r=0, ranks - 1)]), 'MPI_Bcast')

    total = -1
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(total == ranks*(ranks - 1)/2, 'MPI_Allreduce')
    total = rank
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(total == ranks*(ranks - 1)/2, 'MPI_Allreduce in place')
    total = rank + 1
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
      call check(total == ranks, 'MPI_Reduce in place')
    else
      call MPI_Reduce(total, i, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
    end if

    ! Rank r gets r + 1 values.
    counts = [(r, r=1, ranks)]
    places = [(r*(r - 1)/2, r=1, ranks)]
    parts = [(i, i=1, size(parts))]
    own = -1
    call MPI_Scatterv(parts, counts, places, MPI_INTEGER, own, rank + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call check(all(own(:rank + 1) == [(places(rank + 1) + i, i=1, rank + 1)]), 'MPI_Scatterv')
    parts = -1
    call MPI_Allgatherv(own, rank + 1, MPI_INTEGER, parts, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call check(all(parts == [(i, i=1, size(parts))]), 'MPI_Allgatherv')
    own = [(rank*100 + r, r=0, ranks - 1)]
    call MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INTEGER, own, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call check(all(own == [(r*100 + rank, r=0, ranks - 1)]), 'MPI_Alltoall in place')
  end subroutine collectives

  ! A datatype of absolute addresses: the buffer argument is MPI_BOTTOM.
  subroutine absolute_addresses()
    integer, asynchronous :: first, second, got(2)
    integer(MPI_ADDRESS_KIND) :: places(2)
    integer :: type, request
    first = rank
    second = 10*rank
    call MPI_Get_address(first, places(1), ierror)
    call MPI_Get_address(second, places(2), ierror)
    call MPI_Type_create_hindexed(2, [1, 1], places, MPI_INTEGER, type, ierror)
    call MPI_Type_commit(type, ierror)
    call MPI_Irecv(got, 2, MPI_INTEGER, left, 11, MPI_COMM_WORLD, request, ierror)
    call MPI_Send(MPI_BOTTOM, 1, type, right, 11, MPI_COMM_WORLD, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call check(got(1) == left .and. got(2) == 10*left, 'a message from MPI_BOTTOM')
    if (rank == 0) first = 71
    call MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierror)
    call MPI_F_sync_reg(first)
    call MPI_F_sync_reg(second)
    call check(first == 71 .and. second == 0, 'MPI_Bcast at MPI_BOTTOM')
    call MPI_Type_free(type, ierror)
  end subroutine absolute_addresses

  subroutine communicators()
    integer :: comm, half, me, total
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_split(comm, modulo(rank, 2), -rank, half, ierror)
    call MPI_Comm_rank(half, me, ierror)
    call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, half, ierror)
    call check(total == (ranks + 1 - modulo(rank, 2))/2, 'the size of a half')
    call check(me == total - 1 - rank/2, 'the rank in a half')
    call MPI_Comm_free(half, ierror)
    call MPI_Comm_free(comm, ierror)
    call check(comm == MPI_COMM_NULL, 'MPI_Comm_free')
  end subroutine communicators
end program mpi_surface_f
