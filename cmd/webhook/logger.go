package main

import (
	"fmt"
	"io"
	stdlog "log"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// newLogger makes the one logger of the process: ours, controller-runtime's and client-go's lines look alike.
func newLogger(w io.Writer, level slog.Level, format string) logr.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: plain}
	var h slog.Handler = slog.NewJSONHandler(w, o)
	if format == "text" {
		h = slog.NewTextHandler(w, o)
	}
	log := logr.FromSlogHandler(h)
	// What net/http says about broken connections goes through package log: noise, as a rule.
	slog.SetDefault(slog.New(h))
	stdlog.SetFlags(0)
	slog.SetLogLoggerLevel(slog.LevelDebug)
	ctrl.SetLogger(log)
	klog.SetLoggerWithOptions(log, klog.ContextualLogger(true))
	return log
}

// plain names logr's levels of verbosity as everybody else does, where slog would write DEBUG+3 for the first; and writes out
// what controller-runtime says of its health checks, of which JSON would show nothing: all of it is unexported.
func plain(_ []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && level < slog.LevelInfo {
		return slog.String(slog.LevelKey, slog.LevelDebug.String())
	}
	if a.Key == "statuses" {
		return slog.String(a.Key, fmt.Sprintf("%+v", a.Value.Any()))
	}
	return a
}
