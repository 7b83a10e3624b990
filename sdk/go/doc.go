// Package pausegate writes pausegate plugins in Go: a struct and a function are a tool.
//
//	type Remove struct {
//		Path string `json:"path" desc:"Where it is, such as /build/a.tmp."`
//	}
//
//	var remove = pausegate.NewTool("remove", "Removes a file for good.", pausegate.Once,
//		func(call *pausegate.Call, args Remove) (string, error) {
//			if err := call.AskApproval("Remove " + args.Path); err != nil {
//				return "", err
//			}
//			return "removed " + args.Path, os.Remove(args.Path)
//		})
//
//	func main() {}
//
// A question is an error: return it. It cannot get lost: once one is asked the attempt ends with it, whatever the
// function returns.
package pausegate
