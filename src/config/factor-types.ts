import { FACTOR_TYPE_NAMES } from '../factor-types.ts'
import { oneOf } from './plain-values.ts'

/** Any other factor type is a mistake in the configuration. */
export const factorType = oneOf(...FACTOR_TYPE_NAMES)
