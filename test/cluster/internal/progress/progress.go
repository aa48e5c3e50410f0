// Package progress tells a waiting reader what is being done and for how long.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// Signs of life: a terminal's line is rewritten each second. A log gets a line
// when the work turns out to be long, and then one now and again.
const (
	terminalInterval = time.Second
	logFirst         = 3 * time.Second
	logInterval      = 30 * time.Second
)

// Line is one piece of work that is under way.
type Line struct {
	out      io.Writer
	label    string
	started  time.Time
	terminal bool
	stop     chan struct{}
	stopped  sync.WaitGroup
}

// Start says that the work begins and goes on saying so until Done.
func Start(out io.Writer, label string) *Line {
	l := &Line{out: out, label: label, started: time.Now(), terminal: isTerminal(out), stop: make(chan struct{})}
	if l.terminal {
		l.print("")
	}
	l.stopped.Go(l.tick)
	return l
}

// Done ends the line with the time that the work took, or that it failed.
func (l *Line) Done(err error) {
	close(l.stop)
	l.stopped.Wait()
	word := "done in"
	if err != nil {
		word = "failed after"
	}
	l.print(fmt.Sprintf(" %s %s", word, Elapsed(l.started)))
	if l.terminal {
		_, _ = fmt.Fprintln(l.out)
	}
}

// Elapsed is the time since then as people write it.
func Elapsed(since time.Time) string {
	return fmt.Sprintf("%.1f s", time.Since(since).Seconds())
}

func (l *Line) tick() {
	first, interval := logFirst, logInterval
	if l.terminal {
		first, interval = terminalInterval, terminalInterval
	}
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-timer.C:
			l.print(fmt.Sprintf(" ... %.0f s", time.Since(l.started).Seconds()))
			timer.Reset(interval)
		}
	}
}

func (l *Line) print(suffix string) {
	if l.terminal {
		// Back to the start, the text, and the rest of the line cleared.
		_, _ = fmt.Fprintf(l.out, "\r%s%s\x1b[K", l.label, suffix)
		return
	}
	_, _ = fmt.Fprintf(l.out, "%s%s\n", l.label, suffix)
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
