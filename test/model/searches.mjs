/** The models, each with its questions. */
import { JOINING } from './joining.mjs';
import { RECIPE } from './recipe.mjs';
import { SHARDS } from './shards.mjs';
import { TAKEOVER } from './takeover.mjs';

export const MODELS = [RECIPE, JOINING, TAKEOVER, SHARDS];
