// A Go program that is linked with libc, and makes its system calls itself nevertheless.
package main

// #include <stdlib.h>
import "C"

import "os"

func main() {
	if err := os.WriteFile("file", []byte("go"), 0o644); err != nil {
		os.Exit(1)
	}
	os.Exit(int(C.abs(0)))
}
