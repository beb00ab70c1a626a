import { Ajv2020, type Options } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/**
 * Compiles quickly instead of validating quickly: every test file compiles the schemas that it
 * needs, and uses each a few times.
 */
export function createAjv(options: Options): Ajv2020 {
  const ajv = new Ajv2020({ ...options, allErrors: true, inlineRefs: false, code: { optimize: false } })
  addFormats.default(ajv)
  return ajv
}
