import { widgetContract } from './widget-contract.ts'

widgetContract('on another origin of the same site')
