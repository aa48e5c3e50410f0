package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/namespace"
	"github.com/dynawire/dynawire/internal/cli/wire"
	"github.com/dynawire/dynawire/internal/cli/workload"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// input is the flags that all commands have.
type input struct {
	filenames       []string
	recursive       bool
	dynamoNamespace string
	annotations     []string
	namespaceFile   string
	serviceAccount  string
}

func (in *input) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVarP(&in.filenames, "filename", "f", nil, `file, directory, or "-" for standard input; may be repeated`)
	f.BoolVarP(&in.recursive, "recursive", "R", false, "read the directories below a directory, too")
	f.StringVar(&in.dynamoNamespace, "dynamo-namespace", "", "Dynamo namespace of pods that name none: the Namespace's annotation "+wiring.AnnotationDynamoNamespace)
	f.StringArrayVar(&in.annotations, "namespace-annotation", nil, "KEY=VALUE: annotation of the Namespace that the pods go to; may be repeated")
	f.StringVar(&in.namespaceFile, "namespace-file", "", "manifest of the Namespace that the pods go to, for its annotations")
	f.StringVar(&in.serviceAccount, "service-account", wiring.ServiceAccount, `ServiceAccount for pods that have none of their own; "" leaves them as they are`)
}

// read reads all files, and the Namespaces among their objects.
func (in *input) read(stdin io.Reader) ([]manifest.File, *wire.Options, error) {
	if len(in.filenames) == 0 {
		return nil, nil, errors.New(`what to read is missing: -f FILE, -f DIRECTORY or "-f -"`)
	}
	annotations, err := namespace.Annotations(in.namespaceFile, in.annotations)
	if err != nil {
		return nil, nil, err
	}
	if in.dynamoNamespace != "" {
		annotations[wiring.AnnotationDynamoNamespace] = in.dynamoNamespace
	}
	source := manifest.Files{Names: in.filenames, Recursive: in.recursive, Stdin: stdin}
	files, err := source.Read()
	if err != nil {
		return nil, nil, err
	}
	namespaces := namespace.New(annotations)
	for _, file := range files {
		for i := range file.Documents {
			_, objects, err := workload.Open(&file.Documents[i])
			if err != nil {
				return nil, nil, err
			}
			namespaces.Add(objects)
		}
	}
	return files, &wire.Options{Namespaces: namespaces, ServiceAccount: in.serviceAccount}, nil
}
