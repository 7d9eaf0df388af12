#!/bin/bash
# tidy.sh CHECKOUT: sorts imports and formats, after move.py or rename.py
cd $1 || exit 1; ls -d .ruff_cache >/dev/null 2>&1
R="ruff"
$R format -q .; $R check --fix --fixable I,RUF100,RUF022 -q .; $R format -q .
$R check --output-format concise . | tail -${2:-12}
