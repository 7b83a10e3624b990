module archive-go

go 1.27

require pausegate.example/sdk v0.0.0

replace pausegate.example/sdk => ../../sdk/go
