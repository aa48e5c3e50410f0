#!/usr/bin/env bash
# What the in-pod library adds to a program: packages and bytes, beside client-go's informers for the same purpose.
set -euo pipefail
cd "$(dirname "$0")/.."
programs=./pkg/runtime/kube/testdata/size
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
packages() { go list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' "$1" | grep -cv '/testdata/' || true; }
modules() { go list -deps -f '{{with .Module}}{{.Path}}{{end}}' "$1" | sort -u | grep -vc '^github.com/dynawire/dynawire$' || true; }
printf '%-10s %10s %10s %14s %12s\n' program packages modules bytes 'more MiB'
hello=0
for program in hello dynawire informer; do
  CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$out/$program" "$programs/$program"
  bytes=$(stat -c %s "$out/$program")
  [ "$program" != hello ] || hello=$bytes
  printf '%-10s %10d %10d %14d %12s\n' "$program" "$(packages "$programs/$program")" "$(modules "$programs/$program")" "$bytes" \
    "$(awk "BEGIN {printf \"%.1f\", ($bytes - $hello) / 1048576}")"
done
