package pausegate

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// schema is a JSON Schema; keys are written in the order of the alphabet.
type schema = map[string]any

// field is one key of an object.
type field struct {
	name     string
	at       []int
	typ      reflect.Type
	required bool
	tag      reflect.StructTag
}

// fieldsOf are the keys that encoding/json knows, those of embedded structs among them.
func fieldsOf(typ reflect.Type) []field {
	var fields []field
	for _, found := range reflect.VisibleFields(typ) {
		name, options, _ := strings.Cut(found.Tag.Get("json"), ",")
		if !found.IsExported() || name == "-" || (found.Anonymous && name == "") {
			continue
		}
		if name == "" {
			name = found.Name
		}
		_, hasDefault := found.Tag.Lookup("default")
		optional := found.Type.Kind() == reflect.Pointer || hasDefault || strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		fields = append(fields, field{name, found.Index, found.Type, !optional, found.Tag})
	}
	return fields
}

var (
	timeType    = reflect.TypeFor[time.Time]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	textReader  = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonReader  = reflect.TypeFor[json.Unmarshaler]()
	nothingType = reflect.TypeFor[Nothing]()
)

// schemaOf is the JSON Schema of a type.
func schemaOf(typ reflect.Type) (schema, error) { return (&maker{}).of(typ) }

// maker keeps the structs that are being described: one that holds itself has no schema in its place.
type maker struct{ open []reflect.Type }

func (maker *maker) of(typ reflect.Type) (schema, error) {
	switch {
	case typ == timeType:
		return schema{"type": "string", "format": "date-time"}, nil
	case typ == rawType:
		return schema{}, nil
	case reflect.PointerTo(typ).Implements(textReader) && !reflect.PointerTo(typ).Implements(jsonReader):
		return schema{"type": "string"}, nil
	}
	switch typ.Kind() {
	case reflect.String:
		return schema{"type": "string"}, nil
	case reflect.Bool:
		return schema{"type": "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return schema{"type": "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return schema{"type": "integer", "minimum": 0}, nil
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}, nil
	case reflect.Interface:
		return schema{}, nil
	case reflect.Pointer:
		return maker.nullable(typ.Elem())
	case reflect.Slice, reflect.Array:
		return maker.list(typ)
	case reflect.Map:
		return maker.values(typ)
	case reflect.Struct:
		return maker.object(typ)
	}
	return nil, fmt.Errorf("%s has no JSON Schema", typ)
}

func (maker *maker) nullable(typ reflect.Type) (schema, error) {
	inner, err := maker.of(typ)
	if err != nil || len(inner) == 0 {
		return inner, err
	}
	if name, plain := inner["type"].(string); plain && inner["enum"] == nil {
		inner["type"] = []string{name, "null"}
		return inner, nil
	}
	return schema{"anyOf": []schema{inner, {"type": "null"}}}, nil
}

func (maker *maker) list(typ reflect.Type) (schema, error) {
	if typ.Elem().Kind() == reflect.Uint8 {
		return schema{"type": "string", "contentEncoding": "base64"}, nil
	}
	items, err := maker.of(typ.Elem())
	return schema{"type": "array", "items": items}, err
}

func (maker *maker) values(typ reflect.Type) (schema, error) {
	if typ.Key().Kind() != reflect.String {
		return nil, fmt.Errorf("%s has no JSON Schema: a key is text", typ)
	}
	values, err := maker.of(typ.Elem())
	return schema{"type": "object", "additionalProperties": values}, err
}

func (maker *maker) object(typ reflect.Type) (schema, error) {
	for _, open := range maker.open {
		if open == typ {
			return nil, fmt.Errorf("%s holds itself; use json.RawMessage for what is inside", typ)
		}
	}
	maker.open = append(maker.open, typ)
	defer func() { maker.open = maker.open[:len(maker.open)-1] }()
	properties, required := schema{}, []string{}
	for _, field := range fieldsOf(typ) {
		property, err := maker.property(field)
		if err != nil {
			return nil, fmt.Errorf("`%s`: %w", field.name, err)
		}
		properties[field.name] = property
		if field.required {
			required = append(required, field.name)
		}
	}
	made := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		made["required"] = required
	}
	return made, nil
}

// property adds what the tags say: desc, enum (by commas), default (JSON, or text for a string), and schema, a JSON
// object with further keywords.
func (maker *maker) property(field field) (schema, error) {
	property, err := maker.of(field.typ)
	if err != nil {
		return nil, err
	}
	if text := field.tag.Get("desc"); text != "" {
		property["description"] = text
	}
	if values := field.tag.Get("enum"); values != "" {
		property["enum"] = strings.Split(values, ",")
	}
	if value, ok, err := defaultOf(field); err != nil {
		return nil, err
	} else if ok {
		property["default"] = value
	}
	if more := field.tag.Get("schema"); more != "" {
		if err := json.Unmarshal([]byte(more), &property); err != nil {
			return nil, fmt.Errorf("the tag `schema` is not a JSON object: %w", err)
		}
	}
	return property, nil
}

func defaultOf(field field) (any, bool, error) {
	text, ok := field.tag.Lookup("default")
	if !ok {
		return nil, false, nil
	}
	if field.typ.Kind() == reflect.String {
		return text, true, nil
	}
	value, err := decode(text)
	if err != nil {
		return nil, false, fmt.Errorf("the tag `default` is not JSON: %w", err)
	}
	return value, true, nil
}
