/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../own-sessions.test.ts'
