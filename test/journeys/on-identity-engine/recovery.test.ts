/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../recovery.test.ts'
