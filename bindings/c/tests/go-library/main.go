// Calls a library that `kal build --lib` has made. Each goroutine has a context of its own, which
// may be used by one thread after another.
package main

/*
#cgo LDFLAGS: -lnumbers
#include <libnumbers.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

func main() {
	fmt.Println(C.mean(1, 4), C.hypotenuse(3, 4))
	text := C.CString("def mean(a b) a * b")
	defer C.free(unsafe.Pointer(text))
	var wait sync.WaitGroup
	var sums [16]float64
	for worker := range sums {
		wait.Add(1)
		go func(worker int) {
			defer wait.Done()
			context := C.numbers_context_new()
			defer C.numbers_context_free(context)
			var result C.double
			for number := 0; number < 10000; number++ {
				// Half of the way, the context has a function of its own.
				if number == 5000 && worker%2 == 1 && C.numbers_eval(context, text, nil) != 0 {
					panic("it is not defined")
				}
				if C.mean_in(context, C.double(number), 2, &result) != 0 {
					panic("it does not run")
				}
				sums[worker] += float64(result)
			}
		}(worker)
	}
	wait.Wait()
	fmt.Println(sums[0], sums[1], sums[14] == sums[0], sums[15] == sums[1])
	fmt.Println(C.deep(1e9) != 0, C.GoString(C.numbers_last_error()))
}
