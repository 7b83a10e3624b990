package pausegate

import (
	"encoding/json"
	"fmt"
)

// Content is one piece of a result: made by Text, JSON and Blob.
type Content struct {
	kind      contentKind
	text      string
	mediaType string
	data      []byte
}

type contentKind int

const (
	textContent contentKind = iota
	jsonContent
	blobContent
)

// Nothing is what a tool returns that has nothing to say.
type Nothing struct{}

// Text is text for the model.
func Text(text string) Content { return Content{kind: textContent, text: text} }

// JSON is a value for programs; at most one in a result.
func JSON(value any) (Content, error) {
	written, err := json.Marshal(value)
	return Content{kind: jsonContent, text: string(written)}, err
}

// Blob is bytes with their type, such as image/png.
func Blob(mediaType string, data []byte) Content {
	return Content{kind: blobContent, mediaType: mediaType, data: data}
}

// pieces are what a tool returned: text, one piece or several, nothing, or a value for programs.
func pieces(returned any) ([]Content, error) {
	switch value := returned.(type) {
	case Nothing:
		return nil, nil
	case string:
		return []Content{Text(value)}, nil
	case Content:
		return []Content{value}, nil
	case []Content:
		return value, nil
	case []byte:
		return nil, fmt.Errorf("a tool returns bytes as Blob(mediaType, data)")
	}
	content, err := JSON(returned)
	if err != nil {
		return nil, fmt.Errorf("the result cannot be written: %w", err)
	}
	return []Content{content}, nil
}
