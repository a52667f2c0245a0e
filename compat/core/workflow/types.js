// Generated from compat/layout.json; do not edit.
'use strict'


