// The peer in Go: net/http and go-redis. main PORT SOCKET DIGEST
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	port, socket, digest := os.Args[1], os.Args[2], os.Args[3]
	shop := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, PoolSize: 64, Protocol: 2})
	buy := func(w http.ResponseWriter, r *http.Request) {
		buyer := r.Header.Get("X-User-Id")
		sold, err := shop.EvalSha(context.Background(), digest, []string{"stock", "orders"}, buyer,
			time.Now().UnixMilli()).Int()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case err != nil:
			w.WriteHeader(http.StatusServiceUnavailable)
		case sold != 1:
			w.WriteHeader(http.StatusConflict)
		default:
			w.WriteHeader(http.StatusCreated)
		}
		fmt.Fprintf(w, "{\"buyer\":%q}\n", buyer)
	}
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(buy)))
	os.Exit(1)
}
