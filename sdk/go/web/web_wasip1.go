package web

import (
	"net/url"

	pausegate "pausegate.example/sdk"
	handler "pausegate.example/sdk/internal/bindings/wasi_http_outgoing_handler"
	types "pausegate.example/sdk/internal/bindings/wasi_http_types"
	streams "pausegate.example/sdk/internal/bindings/wasi_io_streams"
	wit "pausegate.example/sdk/internal/wit/types"
)

const (
	chunkBytes = 64 << 10
	writeBytes = 4096
)

func send(request Request, address *url.URL) (*Response, error) {
	message, err := message(request, address)
	if err != nil {
		return nil, err
	}
	body := message.Body().Ok()
	handled := handler.Handle(message, wit.None[*types.RequestOptions]())
	if handled.IsErr() {
		return nil, failure(request, handled.Err())
	}
	future := handled.Ok()
	defer future.Drop()
	write(body, request.Body)
	ready := future.Subscribe()
	ready.Block()
	ready.Drop()
	answer := future.Get()
	if answer.IsNone() || answer.Some().IsErr() {
		return nil, pausegate.Fail(pausegate.Unavailable, "%s: the response went away", request.URL)
	}
	inner := answer.Some().Ok()
	if inner.IsErr() {
		return nil, failure(request, inner.Err())
	}
	return read(request, inner.Ok())
}

func message(request Request, address *url.URL) (*types.OutgoingRequest, error) {
	var pairs []wit.Tuple2[string, []uint8]
	for name, value := range request.Header {
		pairs = append(pairs, wit.Tuple2[string, []uint8]{F0: name, F1: []uint8(value)})
	}
	fields := types.FieldsFromList(pairs)
	if fields.IsErr() {
		return nil, pausegate.Fail(pausegate.InvalidInput, "%s: a header cannot be sent", request.URL)
	}
	scheme := types.MakeSchemeHttps()
	if address.Scheme == "http" {
		scheme = types.MakeSchemeHttp()
	}
	path := address.EscapedPath()
	if path == "" {
		path = "/"
	}
	if address.RawQuery != "" {
		path += "?" + address.RawQuery
	}
	made := types.MakeOutgoingRequest(fields.Ok())
	if made.SetMethod(method(request.Method)).IsErr() || made.SetScheme(wit.Some(scheme)).IsErr() ||
		made.SetAuthority(wit.Some(address.Host)).IsErr() || made.SetPathWithQuery(wit.Some(path)).IsErr() {
		return nil, pausegate.Fail(pausegate.InvalidInput, "%s %s: cannot be requested", request.Method, request.URL)
	}
	return made, nil
}

func method(name string) types.Method {
	switch name {
	case "GET":
		return types.MakeMethodGet()
	case "HEAD":
		return types.MakeMethodHead()
	case "POST":
		return types.MakeMethodPost()
	case "PUT":
		return types.MakeMethodPut()
	case "DELETE":
		return types.MakeMethodDelete()
	case "OPTIONS":
		return types.MakeMethodOptions()
	case "PATCH":
		return types.MakeMethodPatch()
	}
	return types.MakeMethodOther(name)
}

func write(body *types.OutgoingBody, data []byte) {
	if opened := body.Write(); opened.IsOk() {
		stream := opened.Ok()
		for len(data) > 0 {
			part := data[:min(len(data), writeBytes)]
			// A refused request closes its body; what it was refused for is in the response.
			if stream.BlockingWriteAndFlush(part).IsErr() {
				break
			}
			data = data[len(part):]
		}
		stream.Drop()
	}
	types.OutgoingBodyFinish(body, wit.None[*types.Fields]())
}

func read(request Request, response *types.IncomingResponse) (*Response, error) {
	defer response.Drop()
	made := &Response{Status: int(response.Status()), Header: map[string][]string{}}
	headers := response.Headers()
	for _, pair := range headers.Entries() {
		made.Header[pair.F0] = append(made.Header[pair.F0], string(pair.F1))
	}
	headers.Drop()
	body := response.Consume().Ok()
	defer body.Drop()
	stream := body.Stream().Ok()
	defer stream.Drop()
	for {
		part := stream.BlockingRead(chunkBytes)
		if part.IsErr() && part.Err().Tag() == streams.StreamError_Closed {
			return made, nil
		}
		if part.IsErr() {
			return nil, pausegate.Fail(pausegate.Unavailable, "%s: the response broke off", request.URL)
		}
		made.Body = append(made.Body, part.Ok()...)
		if len(made.Body) > request.MaxBytes {
			return nil, pausegate.Fail(pausegate.TooLarge, "%s: the response is longer than %d bytes", request.URL, request.MaxBytes)
		}
	}
}

func failure(request Request, code types.ErrorCode) error {
	kind, words := pausegate.Unavailable, "the server cannot be reached"
	switch code.Tag() {
	case types.ErrorCode_HttpRequestDenied:
		kind, words = pausegate.Denied, "no grant allows it"
	case types.ErrorCode_DestinationIpProhibited:
		kind, words = pausegate.Denied, "its address is not allowed"
	case types.ErrorCode_HttpRequestMethodInvalid, types.ErrorCode_HttpRequestUriInvalid:
		kind, words = pausegate.InvalidInput, "it cannot be requested"
	case types.ErrorCode_HttpRequestBodySize, types.ErrorCode_HttpResponseBodySize:
		kind, words = pausegate.TooLarge, "the body is too large"
	case types.ErrorCode_DnsTimeout, types.ErrorCode_ConnectionTimeout, types.ErrorCode_ConnectionReadTimeout,
		types.ErrorCode_ConnectionWriteTimeout, types.ErrorCode_HttpResponseTimeout:
		kind, words = pausegate.Timeout, "the server took too long"
	}
	return pausegate.Fail(kind, "%s %s: %s", request.Method, request.URL, words)
}
