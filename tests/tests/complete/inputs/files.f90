! files: the forms of Fortran I/O: formatted, unformatted, direct access, stream, scratch, inquire, list-directed.
program files
  implicit none
  integer :: unit, record, status, number
  real(8) :: numbers(512), again(512)
  character(len=80) :: line
  logical :: there

  open(newunit=unit, file='formatted', action='write')
  do number = 1, 2000
    write(unit, '(i8, f12.4)') number, sqrt(real(number))
  end do
  close(unit)

  open(newunit=unit, file='formatted', action='read')
  number = 0
  do
    read(unit, '(a)', iostat=status) line
    if (status /= 0) exit
    number = number + 1
  end do
  rewind(unit)
  read(unit, *) record
  close(unit)
  if (number /= 2000 .or. record /= 1) error stop 'formatted'

  numbers = [(sqrt(real(number, 8)), number = 1, 512)]
  open(newunit=unit, file='direct', access='direct', recl=4096, form='unformatted', action='readwrite')
  do record = 8, 1, -1
    write(unit, rec=record) numbers * record
  end do
  flush(unit)
  read(unit, rec=3) again
  close(unit)
  if (any(again /= numbers * 3)) error stop 'direct'

  open(newunit=unit, file='unformatted', form='unformatted')
  write(unit) numbers
  write(unit) numbers(1:10)
  backspace(unit)
  read(unit) again(1:10)
  close(unit)
  if (any(again(1:10) /= numbers(1:10))) error stop 'unformatted'

  open(newunit=unit, file='stream', access='stream', form='unformatted')
  write(unit) numbers
  write(unit, pos=81) 0d0
  read(unit, pos=73) again(1:2)
  close(unit)
  if (again(1) /= numbers(10) .or. again(2) /= 0d0) error stop 'stream'

  open(newunit=unit, status='scratch')
  write(unit, *) 'scratch'
  close(unit)
  inquire(file='stream', exist=there, size=number)
  open(newunit=unit, file='stream')
  close(unit, status='delete')
  if (.not. there .or. number /= 4096) error stop 'inquire'
  print '(a)', 'files: passed'
end program
