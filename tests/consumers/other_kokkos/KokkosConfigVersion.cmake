# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0

set(PACKAGE_VERSION 3.99.99)
set(PACKAGE_VERSION_COMPATIBLE TRUE)
