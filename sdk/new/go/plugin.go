// The plugin %NAME%.
package main

import pausegate "pausegate.example/sdk"

type Person struct {
	Name string `json:"name" desc:"Whom to greet."`
}

var greet = pausegate.NewTool("greet", "Greets someone.", pausegate.ReadOnly,
	func(call *pausegate.Call, args Person) (string, error) {
		return "Hello, " + args.Name + "!", nil
	})

var send = pausegate.NewTool("send", "Sends a greeting, once a person has approved it.", pausegate.Once,
	func(call *pausegate.Call, args Person) (string, error) {
		// Ends the attempt until a person answered; then the function runs again from its start and gets past it.
		if err := call.AskApproval("Send a greeting to " + args.Name); err != nil {
			return "", err
		}
		return "greeted " + args.Name, nil
	})

func main() {}
