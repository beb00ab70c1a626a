import { createGatehouse } from '/demo/client/index.js'
import { chosenLanguage } from './parts/language.js'

/** The broker, at the page's own origin. */
export const gatehouse = createGatehouse(chosenLanguage ? { language: chosenLanguage } : {})
