/*
 * Folders that a program made for itself.
 */
#ifndef COMMON_FOLDER_H
#define COMMON_FOLDER_H

/* Remove it and all that is in it, as far as that can be; links are not followed. */
void folder_remove(const char *path);

#endif
