// Your program, in Go. What is below is how everybody begins: it works on a quiet day.
//
//	go build -o mine app/lab/exercises/any/template.go; make exercise CMD=./mine
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
)

var connection, _ = net.Dial("tcp", strings.Split(os.Getenv("LAB_REDIS_URL"), "/")[2])
var replies = bufio.NewReader(connection)

// One command; its answer as text, "" for nil. An error, or no answer, ends the program: nothing is known.
func redis(words ...string) string {
	fmt.Fprintf(connection, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(connection, "$%d\r\n%s\r\n", len(word), word)
	}
	line, err := replies.ReadString('\n')
	if err != nil || line[0] == '-' {
		tell("unknown")
	}
	text := strings.TrimSpace(line[1:])
	if line[0] != '$' || text == "-1" {
		return strings.TrimSuffix(text, "-1")
	}
	size, _ := strconv.Atoi(text)
	bytes := make([]byte, size+2)
	io.ReadFull(replies, bytes)
	return string(bytes[:size])
}

func tell(result string) {
	fmt.Printf("{\"result\":%q}\n", result)
	os.Exit(0)
}

func main() {
	stock, orders, lock := os.Getenv("LAB_STOCK_KEY"), os.Getenv("LAB_ORDERS_KEY"), os.Getenv("LAB_LOCK_KEY")

	// Take the lock: who comes second gets 0.
	if redis("SETNX", lock, "taken") != "1" {
		tell("busy")
	}

	// What is left? Sell that, and write it down.
	result := "sold-out"
	left, _ := strconv.Atoi(redis("GET", stock))
	if redis("HGET", orders, os.Getenv("LAB_BUYER")) != "" {
		result = "already"
	} else if left > 0 {
		redis("SET", stock, strconv.Itoa(left-1))
		redis("HSET", orders, os.Getenv("LAB_BUYER"), os.Getenv("LAB_ORDER"))
		result = "sold"
	}

	// Give the lock back.
	redis("DEL", lock)
	tell(result)
}
