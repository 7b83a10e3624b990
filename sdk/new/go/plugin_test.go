package main

import (
	"testing"

	pausegate "pausegate.example/sdk"
)

func TestAGreetingHasTheName(t *testing.T) {
	if text := pausegate.Test(greet, Person{"Ada"}).Text(); text != "Hello, Ada!" {
		t.Fatal(text)
	}
}

func TestNothingIsSentUnasked(t *testing.T) {
	first := pausegate.Test(send, Person{"Ada"})
	if first.Pause == nil || first.Pause.Reason != "Send a greeting to Ada" {
		t.Fatalf("%+v", first)
	}
	if text := first.Reply(true).Text(); text != "greeted Ada" {
		t.Fatal(text)
	}
}
