// A formula in Go, called by several goroutines at the same time.
package main

/*
#cgo pkg-config: kal
#include <kal.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"
)

// taken returns an error of Kal as one of Go, and frees it.
func taken(failure *C.kal_error) error {
	defer C.kal_error_free(failure)
	return errors.New(C.GoString(C.kal_error_report(failure)))
}

// A Formula is an expression with parameters. Any goroutine may call it: each call takes a
// context that no other one uses.
type Formula struct {
	engine   *C.kal_engine
	function *C.kal_function
	contexts chan *C.kal_context
}

// NewFormula compiles an expression with these parameters, for that many calls at the same time.
func NewFormula(text string, parameters []string, most int) (*Formula, error) {
	var failure *C.kal_error
	engine := C.kal_engine_new(nil, &failure)
	if engine == nil {
		return nil, taken(failure)
	}
	formula := &Formula{engine: engine, contexts: make(chan *C.kal_context, most)}
	for len(formula.contexts) < most {
		context := C.kal_context_new(engine, &failure)
		if context == nil {
			formula.Close()
			return nil, taken(failure)
		}
		formula.contexts <- context
	}
	names := make([]*C.char, len(parameters)+1)
	for i, parameter := range parameters {
		names[i] = C.CString(parameter)
		defer C.free(unsafe.Pointer(names[i]))
	}
	// The list of names is in memory of C, since it has pointers in it.
	list := (**C.char)(C.calloc(C.size_t(len(names)), C.size_t(unsafe.Sizeof(names[0]))))
	defer C.free(unsafe.Pointer(list))
	copy(unsafe.Slice(list, len(names)), names)

	source := C.CString(text)
	defer C.free(unsafe.Pointer(source))
	context := <-formula.contexts
	formula.function = C.kal_formula_new(context, source, C.KAL_TO_ZERO, list, C.size_t(len(parameters)), &failure)
	formula.contexts <- context
	if formula.function == nil {
		formula.Close()
		return nil, taken(failure)
	}
	return formula, nil
}

// Call evaluates the formula with these arguments.
func (formula *Formula) Call(arguments ...float64) (float64, error) {
	context := <-formula.contexts
	defer func() { formula.contexts <- context }()
	var result C.double
	var failure *C.kal_error
	values := append(arguments, 0)
	first := (*C.double)(&values[0])
	if !C.kal_call(context, formula.function, first, C.size_t(len(arguments)), &result, &failure) {
		return 0, taken(failure)
	}
	return float64(result), nil
}

// Close frees the formula, which nothing calls.
func (formula *Formula) Close() {
	C.kal_function_free(formula.function)
	close(formula.contexts)
	for context := range formula.contexts {
		C.kal_context_free(context)
	}
	C.kal_engine_free(formula.engine)
}

func main() {
	if C.kal_abi() < C.KAL_ABI {
		fmt.Println("libkal.so is older than kal.h")
		os.Exit(1)
	}
	formula, err := NewFormula("sqrt(x^2 + y^2)", []string{"x", "y"}, 4)
	if err != nil {
		fmt.Print(err)
		os.Exit(1)
	}
	defer formula.Close()
	var group sync.WaitGroup
	sums := make([]float64, 4)
	for worker := range sums {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			for i := 1; i <= 1000; i++ {
				length, err := formula.Call(3*float64(i), 4*float64(i))
				if err != nil {
					panic(err)
				}
				sums[worker] += length
			}
		}(worker)
	}
	group.Wait()
	fmt.Println(sums)

	_, err = NewFormula("1 + sqr(", nil, 1)
	fmt.Print(err)
}
