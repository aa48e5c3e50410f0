package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/namespace"
	"github.com/dynawire/dynawire/internal/cli/objects"
	"github.com/dynawire/dynawire/internal/cli/wire"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// input is the flags that all commands have which read manifests.
type input struct {
	filenames       []string
	recursive       bool
	dynamoNamespace string
	annotations     []string
	namespaceFile   string
	serviceAccount  string
}

// noFiles refuses arguments, which are mostly files whose -f was forgotten.
func noFiles(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is no flag: files and directories are given with -f: %s -f %s", args[0], c.CommandPath(), args[0])
	}
	return nil
}

// flags are those of commands that wire.
func (in *input) flags(c *cobra.Command) {
	in.judgingFlags(c)
	c.Flags().StringVar(&in.serviceAccount, "service-account", wiring.ServiceAccount, `ServiceAccount for pods that have none of their own; "" leaves them as they are`)
}

func (in *input) judgingFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVarP(&in.filenames, "filename", "f", nil, `file, directory, or "-" for standard input; may be repeated`)
	f.BoolVarP(&in.recursive, "recursive", "R", false, "read the directories below a directory, too")
	f.StringVar(&in.dynamoNamespace, "dynamo-namespace", "", "Dynamo namespace of pods that name none: the Namespace's annotation "+wiring.AnnotationDynamoNamespace)
	f.StringArrayVar(&in.annotations, "namespace-annotation", nil, "KEY=VALUE: annotation of the Namespace that the pods go to; may be repeated")
	f.StringVar(&in.namespaceFile, "namespace-file", "", "manifest of the Namespace that the pods go to, for its annotations")
}

// read reads all files, and the Namespaces among their objects.
func (in *input) read(stdin io.Reader) ([]manifest.File, *wire.Options, error) {
	if len(in.filenames) == 0 {
		return nil, nil, errors.New(`what to read is missing: -f FILE, -f DIRECTORY or "-f -"`)
	}
	files, err := in.files(stdin)
	if err != nil {
		return nil, nil, err
	}
	namespaces, err := in.namespaces(files)
	return files, &wire.Options{Namespaces: namespaces, ServiceAccount: in.serviceAccount}, err
}

func (in *input) files(stdin io.Reader) ([]manifest.File, error) {
	source := manifest.Files{Names: in.filenames, Recursive: in.recursive, Stdin: stdin}
	return source.Read()
}

// namespaces are what the flags and the objects of the files say about them.
func (in *input) namespaces(files []manifest.File) (*namespace.Namespaces, error) {
	annotations, err := namespace.Annotations(in.namespaceFile, in.annotations)
	if err != nil {
		return nil, err
	}
	if in.dynamoNamespace != "" {
		if (wiring.Settings{DynamoNamespace: in.dynamoNamespace}).Namespace() == "" {
			return nil, fmt.Errorf("--dynamo-namespace is %q, want letters, digits, '-' and '_', at most 63", in.dynamoNamespace)
		}
		annotations[wiring.AnnotationDynamoNamespace] = in.dynamoNamespace
	}
	namespaces := namespace.New(annotations)
	for _, file := range files {
		for i := range file.Documents {
			d := &file.Documents[i]
			_, all, err := objects.Open(d)
			if err != nil {
				return nil, err
			}
			if err := namespaces.Add(d, all); err != nil {
				return nil, err
			}
		}
	}
	return namespaces, nil
}
