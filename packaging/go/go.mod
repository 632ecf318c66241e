module github.com/lockwheel/lockwheel/packaging/go

go 1.21
