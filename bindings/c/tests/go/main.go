// Goroutines call Kal from C, a million times in all, while the collector runs all the time, and
// signals of Go's scheduler and profiler arrive on threads that are on Kal's stacks.
//
//	storm CALLS
package main

/*
#cgo pkg-config: kal
#include <kal.h>
#include <stdlib.h>

// The arguments of functions of the host are const in C, and not in Go.
bool halfOf(void *user, double *arguments, size_t count, double *result, char **message);

static kal_engine *new_engine(kal_error **error) {
    kal_host_function half = {"half", 1, (kal_host)halfOf, NULL, NULL};
    kal_config config = {.size = sizeof config, .functions = &half, .function_count = 1};
    return kal_engine_new(&config, error);
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

const goroutines = 16

func expect(isFine bool, failure *C.kal_error) {
	if !isFine {
		panic(C.GoString(C.kal_error_report(failure)))
	}
}

// halfOf is a function that programs call: Go inside of Kal inside of Go, on the stack of the
// thread, where it grows stacks and makes garbage.
//
//export halfOf
func halfOf(user unsafe.Pointer, arguments *C.double, count C.size_t, result *C.double, message **C.char) C.bool {
	*result = C.double(sum(int(*arguments), [16]int{}) / 2)
	return true
}

// sum adds 1 to itself, on a stack of 128 bytes for each.
func sum(count int, padding [16]int) float64 {
	if count == 0 {
		return float64(padding[0])
	}
	return sum(count-1, padding) + 1
}

// eval runs a text in a context.
func eval(context *C.kal_context, text string) (float64, *C.kal_error) {
	source := C.CString(text)
	defer C.free(unsafe.Pointer(source))
	var value C.double
	var failure *C.kal_error
	C.kal_eval(context, source, C.KAL_TO_ZERO, &value, nil, &failure)
	return float64(value), failure
}

// work calls a function in a context of its own, in which it is redefined now and then, and also
// lets runs fail: by an endless recursion and by a deadline.
func work(engine *C.kal_engine, worker, calls int) {
	var failure *C.kal_error
	context := C.kal_context_new(engine, &failure)
	expect(context != nil, failure)
	defer C.kal_context_free(context)
	_, failure = eval(context, "def f(x y) x * y + 1; def deep(n) if n < 1 then 0 else deep(n - 1) + 1")
	expect(failure == nil, failure)
	name := C.CString("f")
	defer C.free(unsafe.Pointer(name))
	function := C.kal_function_get(context, name, 2, &failure)
	expect(function != nil, failure)
	defer C.kal_function_free(function)
	added := 1
	for call := 0; call < calls; call++ {
		// Garbage of Go, with the numbers in it.
		arguments := append(make([]C.double, 0, 2), C.double(call), C.double(worker))
		var result C.double
		expect(bool(C.kal_call(context, function, &arguments[0], 2, &result, &failure)), failure)
		if float64(result) != float64(call*worker+added) {
			panic(fmt.Sprint(worker, call, result))
		}
		switch call % 20000 {
		case 5000:
			added++
			_, failure = eval(context, fmt.Sprintf("def f(x y) x * y + %d", added))
			expect(failure == nil, failure)
		case 7500:
			value, failure := eval(context, "half(5000) + half(500)")
			expect(failure == nil && value == 2750, failure)
		case 10000:
			value, failure := eval(context, "deep(100000)")
			expect(failure == nil && value == 100000, failure)
		case 15000:
			_, failure := eval(context, "def r(x) r(x + 1) + r(x); r(0)")
			if C.GoString(C.kal_error_code(failure)) != "E0303" {
				panic(C.GoString(C.kal_error_report(failure)))
			}
			C.kal_error_free(failure)
		}
	}
}

func main() {
	calls, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	var failure *C.kal_error
	engine := C.new_engine(&failure)
	expect(engine != nil, failure)
	defer C.kal_engine_free(engine)

	// The profiler interrupts whatever runs, in Kal's code as well.
	profile, err := os.CreateTemp("", "profile")
	if err != nil {
		panic(err)
	}
	defer os.Remove(profile.Name())
	if err := pprof.StartCPUProfile(profile); err != nil {
		panic(err)
	}
	var done atomic.Bool
	var collections atomic.Int64
	go func() {
		for !done.Load() {
			runtime.GC()
			collections.Add(1)
		}
	}()
	start := time.Now()
	var group sync.WaitGroup
	for worker := 0; worker < goroutines; worker++ {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			work(engine, worker, calls/goroutines)
		}(worker)
	}
	group.Wait()
	done.Store(true)
	pprof.StopCPUProfile()
	fmt.Printf("%d calls by %d goroutines, %d collections, %.1f s\n",
		calls/goroutines*goroutines, goroutines, collections.Load(), time.Since(start).Seconds())
	if collections.Load() == 0 {
		panic("the collector has not run")
	}
	alone(engine)
}

// alone says what one call takes without all that.
func alone(engine *C.kal_engine) {
	var failure *C.kal_error
	context := C.kal_context_new(engine, &failure)
	defer C.kal_context_free(context)
	_, failure = eval(context, "def f(x) x + 1")
	expect(failure == nil, failure)
	name := C.CString("f")
	defer C.free(unsafe.Pointer(name))
	function := C.kal_function_get(context, name, 1, &failure)
	defer C.kal_function_free(function)
	const many = 1000000
	argument, result := C.double(1), C.double(0)
	start := time.Now()
	for call := 0; call < many; call++ {
		C.kal_call(context, function, &argument, 1, &result, &failure)
	}
	fmt.Printf("%.0f ns a call\n", float64(time.Since(start).Nanoseconds())/many)
}
