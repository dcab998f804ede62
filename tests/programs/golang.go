// golang: files written and read by goroutines, and a child process, from a program without a C library.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func work(name string, blocks int) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0644)
	check(err)
	block := bytes.Repeat([]byte{'g'}, 1000)
	for i := 0; i < blocks; i++ {
		_, err = file.Write(block)
		check(err)
	}
	_, err = file.ReadAt(block, 500)
	if err == nil {
		check(fmt.Errorf("a file that is open for writing was read"))
	}
	check(file.Close())
	content, err := os.ReadFile(name)
	check(err)
	if len(content) != 1000*blocks {
		check(fmt.Errorf("%s has %d bytes", name, len(content)))
	}
}

func main() {
	if len(os.Args) > 1 {
		work("go.child", 3)
		return
	}
	var together sync.WaitGroup
	for i := 0; i < 4; i++ {
		together.Add(1)
		go func(number int) {
			defer together.Done()
			work(fmt.Sprintf("go.%d", number), 10+number)
		}(i)
	}
	together.Wait()
	self, err := os.Executable()
	check(err)
	check(exec.Command(self, "child").Run())
}
