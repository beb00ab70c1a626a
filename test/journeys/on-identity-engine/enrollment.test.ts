/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../enrollment.test.ts'
