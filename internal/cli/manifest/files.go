package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the file name that stands for the standard input.
const Stdin = "-"

// maxFile bounds what is read of one file.
const maxFile = 64 << 20

// Files says where documents come from.
type Files struct {
	// Names are files, directories and Stdin.
	Names []string
	// Recursive reads the directories below a directory, too.
	Recursive bool
	// Stdin is what the name "-" reads.
	Stdin io.Reader
}

// File is one file with its documents.
type File struct {
	Name      string
	Documents []Document
}

// Read reads all files, in the order of their names and, within a directory, of its entries.
func (f *Files) Read() ([]File, error) {
	var files []File
	stdin := slices.Index(f.Names, Stdin)
	for i, name := range f.Names {
		if name == Stdin && i != stdin {
			return nil, errors.New(`"-", the standard input, is given twice: it can be read only once`)
		}
		names, err := f.list(name)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := f.data(name)
			if err != nil {
				return nil, err
			}
			documents, err := Parse(name, data)
			if err != nil {
				return nil, err
			}
			files = append(files, File{Name: name, Documents: documents})
		}
	}
	return files, nil
}

// kustomization is what kustomize names its own files.
var kustomization = map[string]bool{"kustomization.yaml": true, "kustomization.yml": true}

// list is the files that a name stands for.
func (f *Files) list(name string) ([]string, error) {
	if name == Stdin {
		return []string{name}, nil
	}
	if name == "" {
		return nil, errors.New(`a file name is empty: want a file, a directory, or "-" for standard input`)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, reason(name, err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var names []string
	below := false
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return reason(path, err)
		case entry.IsDir() && path != name && !f.Recursive:
			below = true
			return fs.SkipDir
		case kustomization[entry.Name()]: // no object; kubectl apply -f stumbles over it
		case !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path))):
			names = append(names, path)
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: no .yaml, .yml or .json file in this directory", name)
		if below {
			err = fmt.Errorf("%w; -R reads those below it, too", err)
		}
	}
	return names, err
}

func (f *Files) data(name string) (data []byte, err error) {
	in := f.Stdin
	if name != Stdin {
		file, err := os.Open(name)
		if err != nil {
			return nil, reason(name, err)
		}
		defer file.Close() //nolint:errcheck // it was only read
		in = file
	}
	data, err = io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	if err != nil {
		return nil, reason(name, err)
	}
	return data, nil
}

// reason is an error about a file, which names it once.
func reason(name string, err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}
