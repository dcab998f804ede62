! The same in Fortran, on two ranks, through the module mpi.
program calls
    use mpi
    implicit none
    integer :: rank, other, code, round, total, window, file, copy, request, status(MPI_STATUS_SIZE), numbers(4), counts
    integer(MPI_OFFSET_KIND) :: place
    integer(MPI_ADDRESS_KIND) :: bytes
    character(len=200) :: name

    call get_command_argument(1, name)
    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    other = 1 - rank
    numbers = rank
    do round = 1, 10
        if (rank == 0) then
            call MPI_Send(numbers, 4, MPI_INTEGER, other, round, MPI_COMM_WORLD, code)
        else
            call MPI_Recv(numbers, 4, MPI_INTEGER, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, status, code)
            if (status(MPI_SOURCE) /= 0 .or. numbers(1) /= 0) stop 1
        end if
        call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
        if (total /= 2) stop 2
    end do
    call MPI_Ibarrier(MPI_COMM_WORLD, request, code)
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    bytes = 16
    call MPI_Win_create(numbers, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, code)
    call MPI_Win_fence(0, window, code)
    bytes = 1
    call MPI_Put(rank, 1, MPI_INTEGER, other, bytes, 1, MPI_INTEGER, window, code)
    call MPI_Win_fence(0, window, code)
    if (numbers(2) /= other) stop 3
    call MPI_Win_free(window, code)
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, code)
    if (code /= MPI_SUCCESS) stop 4
    place = 0
    call MPI_File_set_view(file, place, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, code)
    place = 4 * rank
    call MPI_File_write_at_all(file, place, numbers, 4, MPI_INTEGER, status, code)
    call MPI_Get_count(status, MPI_INTEGER, counts, code)
    if (counts /= 4) stop 5
    call MPI_File_close(file, code)
    call MPI_Comm_idup(MPI_COMM_WORLD, copy, request, code)
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    call MPI_Comm_free(copy, code)
    call MPI_Finalize(code)
end program calls
