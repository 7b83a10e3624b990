module pausegate.example/sdk

go 1.27
