/**
 * How a view gets a picture that the log keeps in a file of its own.
 */
import { createActionContext } from './actionContext';

export interface IPictureLoader {
  /** Resolves to the address of a picture as it can be drawn, or to nothing. */
  load(url: string): Promise<string>;
}

export const {
  Provider: PictureLoaderProvider,
  useIfOffered: usePictureLoader
} = createActionContext<IPictureLoader>('a picture loader');
