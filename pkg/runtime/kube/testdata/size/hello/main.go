// Hello is what a program weighs that does nothing but serve HTTP, as every worker does.
package main

import (
	"fmt"
	"net/http"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, http.ListenAndServe(":8080", http.NotFoundHandler()))
}
