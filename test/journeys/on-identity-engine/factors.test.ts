/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../factors.test.ts'
