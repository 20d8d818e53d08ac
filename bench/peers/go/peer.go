// Contends with go-zookeeper's Lock. bench/peers/README.md describes the protocol.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

type holder struct {
	lock  *zk.Lock
	since time.Time
}

type peer struct {
	servers []string
	timeout time.Duration
	conns   []*zk.Conn
	inLine  int
	holding holder
	held    chan holder
}

func main() {
	timeoutMs, err := strconv.Atoi(os.Args[2])
	check(err)
	if os.Args[3] != "lock" {
		check(errors.New("no such recipe: " + os.Args[3]))
	}
	p := &peer{
		servers: strings.Split(os.Args[1], ","),
		timeout: time.Duration(timeoutMs) * time.Millisecond,
		held:    make(chan holder),
	}
	say("ready")
	for commands := bufio.NewScanner(os.Stdin); commands.Scan() && commands.Text() != "quit"; {
		p.obey(strings.Fields(commands.Text()))
	}
	closing.Lock()
	var closed sync.WaitGroup
	for _, conn := range p.conns {
		closed.Add(1)
		go func(conn *zk.Conn) {
			conn.Close()
			closed.Done()
		}(conn)
	}
	closed.Wait()
}

func (p *peer) obey(words []string) {
	switch words[0] {
	case "open":
		p.open(number(words[1]))
		say("opened")
	case "cycle":
		p.cycle(words[1], number(words[2]))
	case "queue":
		p.queue(words[1], number(words[2]))
		say("queued")
	case "hand":
		if p.inLine < 2 {
			check(errors.New("no contender waits"))
		}
		say("took " + micros(p.release()))
	case "leave":
		// A Lock that waits can't be cancelled, so each contender gets its turn.
		for p.inLine > 0 {
			p.release()
		}
		say("left")
	case "stand":
		lock := p.newLock(number(words[2]), words[1])
		say("standing")
		go func() {
			check(lock.Lock())
			say("held " + words[2])
		}()
	default:
		check(errors.New("no such command: " + words[0]))
	}
}

func (p *peer) open(n int) {
	var sessions []<-chan zk.Event
	for len(p.conns) < n {
		conn, events, err := zk.Connect(p.servers, p.timeout, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
		check(err)
		p.conns = append(p.conns, conn)
		sessions = append(sessions, events)
	}
	for _, events := range sessions {
		for (<-events).State != zk.StateHasSession {
		}
	}
}

func (p *peer) newLock(at int, path string) *zk.Lock {
	return zk.NewLock(p.conns[at], path, zk.WorldACL(zk.PermAll))
}

func (p *peer) cycle(path string, count int) {
	lock := p.newLock(0, path)
	took := []string{"took"}
	for i := 0; i < count; i++ {
		from := time.Now()
		check(lock.Lock())
		check(lock.Unlock())
		took = append(took, micros(time.Since(from)))
	}
	say(strings.Join(took, " "))
}

func (p *peer) queue(path string, n int) {
	var begun sync.WaitGroup
	begun.Add(n)
	for at := 0; at < n; at++ {
		go func(lock *zk.Lock) {
			begun.Done()
			check(lock.Lock())
			p.held <- holder{lock, time.Now()}
		}(p.newLock(at, path))
	}
	begun.Wait()
	p.inLine, p.holding = n, <-p.held
}

// Releases the lock. Returns the time until the next contender holds it, if there is one.
func (p *peer) release() (took time.Duration) {
	from := time.Now()
	check(p.holding.lock.Unlock())
	p.inLine--
	if p.inLine > 0 {
		p.holding = <-p.held
		took = p.holding.since.Sub(from)
	}
	return took
}

type quiet struct{}

func (quiet) Printf(string, ...interface{}) {}

var output sync.Mutex

func say(line string) {
	output.Lock()
	defer output.Unlock()
	fmt.Println(line)
}

// Locked while the sessions are being closed, because errors are no failures then.
var closing sync.Mutex

func check(err error) {
	if err == nil {
		return
	}
	closing.Lock()
	say("failed " + err.Error())
	os.Exit(1)
}

func number(word string) int {
	n, err := strconv.Atoi(word)
	check(err)
	return n
}

func micros(took time.Duration) string {
	return strconv.FormatFloat(float64(took)/1e3, 'f', 1, 64)
}
