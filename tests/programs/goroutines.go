// Goroutines that write, read, rename and list files while the runtime moves them from thread to thread: a file is opened,
// used and closed by whichever thread it meets. Each has names of its own, and uses them again after it has renamed them.
package main

import (
	"fmt"
	"os"
	"sync"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func work(number int) {
	block := make([]byte, 4096)
	for round := 0; round < 40; round++ {
		name := fmt.Sprintf("folder/%d-%d", number, round%5)
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		must(err)
		_, err = file.WriteAt(block, int64(round)*4096)
		must(err)
		_, err = file.ReadAt(block, 0)
		must(err)
		if round%10 == 9 {
			must(file.Sync())
		}
		must(file.Close())
		if round%8 == 7 {
			must(os.Rename(name, name+".old"))
		}
	}
}

func main() {
	must(os.Mkdir("folder", 0o755))
	var workers sync.WaitGroup
	for number := 0; number < 8; number++ {
		workers.Add(1)
		go func(number int) {
			defer workers.Done()
			work(number)
		}(number)
	}
	workers.Wait()
	entries, err := os.ReadDir("folder")
	must(err)
	for _, entry := range entries {
		_, err := os.ReadFile("folder/" + entry.Name())
		must(err)
	}
}
