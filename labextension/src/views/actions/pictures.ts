/** Loading of images that are stored as blobs beside the log. */
import { createActionContext } from './actionContext';

export interface IPictureLoader {
  /** Resolves to an image's URL that can be drawn, or to an empty string. */
  load(url: string): Promise<string>;
}

export const {
  Provider: PictureLoaderProvider,
  useIfOffered: usePictureLoader
} = createActionContext<IPictureLoader>('a picture loader');
