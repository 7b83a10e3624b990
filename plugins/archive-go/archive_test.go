package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"

	pausegate "pausegate.example/sdk"
)

// archived is a zip file with these files, each holding its own name.
func archived(t *testing.T, names ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.zip")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := zip.NewWriter(file)
	defer archive.Close()
	for _, name := range names {
		out, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

func TestFilesAreListed(t *testing.T) {
	ended := pausegate.Test(list, listArgs{archived(t, "a.txt", "sub/b.txt")})
	want := `{"entries":[{"name":"a.txt","bytes":5},{"name":"sub/b.txt","bytes":9}],"bytes":14,"left":0}`
	if ended.JSON() != want {
		t.Fatalf("got %s, %+v", ended.JSON(), ended.Failure)
	}
}

func TestNothingIsUnpackedBeforeAPersonAgrees(t *testing.T) {
	archive := archived(t, "a.txt", "sub/b.txt")
	into := filepath.Join(t.TempDir(), "out")
	first := pausegate.Test(unpack, unpackArgs{archive, into})
	if first.Pause == nil || first.Pause.Reason != "Unpack "+archive+" into "+into+": 2 files, 14 bytes" {
		t.Fatalf("%+v", first)
	}
	if _, err := os.Stat(into); err == nil {
		t.Fatal("something was unpacked")
	}
	if text := first.Reply(true).Text(); text != "unpacked 2 files into "+into {
		t.Fatal(text)
	}
	if held, err := os.ReadFile(filepath.Join(into, "sub/b.txt")); err != nil || string(held) != "sub/b.txt" {
		t.Fatal(string(held), err)
	}
	if again := first.Reply(true); again.Failure.Kind != pausegate.Conflict {
		t.Fatalf("%+v", again)
	}
}

func TestNoNameLeadsOutOfTheFolder(t *testing.T) {
	into := filepath.Join(t.TempDir(), "out")
	ended := pausegate.Test(unpack, unpackArgs{archived(t, "../evil.txt"), into}).Approved()
	if ended.Failure == nil || ended.Failure.Effect != pausegate.Happened {
		t.Fatalf("%+v", ended)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(into), "evil.txt")); err == nil {
		t.Fatal("written beside the folder")
	}
}

func TestWhatIsNoArchiveIsSaid(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(name, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if failure := pausegate.Test(list, listArgs{name}).Failure; failure.Kind != pausegate.InvalidInput {
		t.Fatal(failure)
	}
	if failure := pausegate.Test(list, listArgs{name + "x"}).Failure; failure.Kind != pausegate.NotFound {
		t.Fatal(failure)
	}
}
