/** What the screens after the first one need: all operations, and their styles. */

import '../ui/links.css';
import '../ui/screens.css';

export { OPERATIONS } from 'atrium-client';
