package main

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// newLogger makes the one logger of the process: ours, controller-runtime's and client-go's lines look alike.
func newLogger(w io.Writer, level slog.Level, format string) logr.Logger {
	o := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewJSONHandler(w, o)
	if format == "text" {
		h = slog.NewTextHandler(w, o)
	}
	log := logr.FromSlogHandler(h)
	ctrl.SetLogger(log)
	klog.SetLoggerWithOptions(log, klog.ContextualLogger(true))
	return log
}
