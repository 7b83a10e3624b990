// Command archive-go looks into zip archives and unpacks them, once a person agrees.
package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	pausegate "pausegate.example/sdk"
)

const (
	// Entries are more than a person reads, and a model wants, from here on.
	entriesMax = 200
	// What is unpacked has an end, whatever the archive says of itself.
	unpackedBytesMax = 64 << 20
)

func main() {}

func init() { pausegate.WantFS("/archives", "write", "reads archives and unpacks them there") }

// Entry is a file in an archive.
type Entry struct {
	Name  string `json:"name"`
	Bytes uint64 `json:"bytes"`
}

// Listing is what an archive holds.
type Listing struct {
	Entries []Entry `json:"entries"`
	Bytes   uint64  `json:"bytes" desc:"Of all files together, unpacked."`
	Left    int     `json:"left" desc:"How many entries are not listed."`
}

type listArgs struct {
	Archive string `json:"archive" desc:"The zip file, such as /archives/a.zip."`
}

var list = pausegate.NewTool("list", "Lists the files in a zip archive.", pausegate.ReadOnly,
	func(_ *pausegate.Call, args listArgs) (Listing, error) {
		archive, err := open(args.Archive)
		if err != nil {
			return Listing{}, err
		}
		defer archive.Close()
		return listing(archive), nil
	})

type unpackArgs struct {
	Archive string `json:"archive" desc:"The zip file, such as /archives/a.zip."`
	Into    string `json:"into" desc:"The folder to unpack into; it must not be there yet."`
}

var unpack = pausegate.NewTool("unpack", "Unpacks a zip archive into a new folder, once a person agrees.", pausegate.Once,
	func(call *pausegate.Call, args unpackArgs) (string, error) {
		archive, err := open(args.Archive)
		if err != nil {
			return "", err
		}
		defer archive.Close()
		held := listing(archive)
		reason := fmt.Sprintf("Unpack %s into %s: %d files, %d bytes", args.Archive, args.Into, len(held.Entries)+held.Left, held.Bytes)
		if err := call.Context(held).AskApproval(reason); err != nil {
			return "", err
		}
		if err := os.Mkdir(args.Into, 0o755); err != nil {
			return "", err
		}
		return fmt.Sprintf("unpacked %d files into %s", len(held.Entries)+held.Left, args.Into), extract(archive, args.Into)
	})

func open(name string) (*zip.ReadCloser, error) {
	archive, err := zip.OpenReader(name)
	if errors.Is(err, zip.ErrFormat) {
		return nil, pausegate.Fail(pausegate.InvalidInput, "%s is no zip archive", name)
	}
	return archive, err
}

func listing(archive *zip.ReadCloser) Listing {
	made := Listing{Entries: []Entry{}}
	for _, file := range archive.File {
		if file.FileInfo().IsDir() {
			continue
		}
		made.Bytes += file.UncompressedSize64
		if len(made.Entries) == entriesMax {
			made.Left++
			continue
		}
		made.Entries = append(made.Entries, Entry{file.Name, file.UncompressedSize64})
	}
	return made
}

func extract(archive *zip.ReadCloser, into string) error {
	left := int64(unpackedBytesMax)
	for _, file := range archive.File {
		name := strings.TrimSuffix(file.Name, "/")
		// A name such as `../x` would lead out of the folder.
		if !fs.ValidPath(name) {
			return partly(pausegate.InvalidInput, "the archive holds %q, which is no name inside it", file.Name)
		}
		to := path.Join(into, name)
		if file.FileInfo().IsDir() {
			if err := os.MkdirAll(to, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(path.Dir(to), 0o755); err != nil {
			return err
		}
		written, err := copyOut(file, to, left)
		if err != nil {
			return err
		}
		if left -= written; left < 0 {
			return partly(pausegate.TooLarge, "the archive holds more than %d bytes", unpackedBytesMax)
		}
	}
	return nil
}

func copyOut(file *zip.File, to string, left int64) (int64, error) {
	from, err := file.Open()
	if err != nil {
		return 0, err
	}
	defer from.Close()
	out, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	written, err := io.Copy(out, io.LimitReader(from, left+1))
	return written, errors.Join(err, out.Close())
}

func partly(kind pausegate.Kind, format string, values ...any) error {
	failure := pausegate.Fail(kind, format, values...)
	failure.Effect = pausegate.Happened
	return failure
}
