package main

import (
	_ "github.com/google/go-containerregistry/pkg/v1/tarball"
	_ "github.com/spf13/cobra"
	_ "github.com/stretchr/testify/require"
	_ "golang.org/x/sys/unix"
	_ "sigs.k8s.io/yaml"
)
func main(){}
