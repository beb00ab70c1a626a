/** @jest-environment-options {"SANDBOX_PIPELINE": "idx"} */
import '../enrollment-apps.test.ts'
