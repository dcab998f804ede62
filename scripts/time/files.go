// Goroutines that write files through buffers, read them, copy and remove them. Argument: how many files.

package main

import (
    "bufio"
    "fmt"
    "os"
    "strconv"
    "sync"
)

func check(err error) {
    if err != nil {
        panic(err)
    }
}

func work(number int) {
    name := fmt.Sprintf("part%d", number)
    file, err := os.Create(name)
    check(err)
    out := bufio.NewWriter(file)
    for value := 0; value < 20000; value++ {
        fmt.Fprintf(out, "%d %d\n", number, value*value)
    }
    check(out.Flush())
    check(file.Close())
    text, err := os.ReadFile(name)
    check(err)
    check(os.WriteFile(fmt.Sprintf("copy%d", number), text, 0o644))
    check(os.Remove(name))
}

func main() {
    count, err := strconv.Atoi(os.Args[1])
    check(err)
    numbers := make(chan int)
    var workers sync.WaitGroup
    for worker := 0; worker < 2; worker++ {
        workers.Add(1)
        go func() {
            defer workers.Done()
            for number := range numbers {
                work(number)
            }
        }()
    }
    for number := 0; number < count; number++ {
        numbers <- number
    }
    close(numbers)
    workers.Wait()
}
